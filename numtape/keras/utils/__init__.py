"""``tf.keras.utils``: data in other forms, and seeds."""
