"""``tf.io``."""
from ..image.codecs import *
from ..image.codecs import decode_jpeg,decode_png,decode_bmp,decode_gif,decode_image,is_jpeg,extract_jpeg_shape,encode_jpeg,encode_png,decode_and_crop_jpeg
__all__=[]
