"""Programs on several ranks, compared with NumPy, with one rank, and with each other."""

import json
import os
import time

import pytest
from processes import ROOT
from ranks import launch, needs_mpi, output, start

import numtape as nt

pytestmark = needs_mpi
EXAMPLES = ROOT / "notebooks" / "examples"


@pytest.mark.parametrize(
    "ranks", [4, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3, 5))]
)
def test_collectives_equal_numpy(ranks):
    printed = output(ranks, "collectives.py", timeout=120)
    done = [f"rank {rank} of {ranks} is done" for rank in range(ranks)]
    assert sorted(printed.split("\n")[:-1]) == done


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Results of training on 1 rank and on 4, and the folder of the checkpoints of the latter."""
    folder = tmp_path_factory.mktemp("checkpoints")
    return {
        ranks: json.loads(output(ranks, "training.py", folder, 0, 3, timeout=120))
        for ranks in (1, 4)
    }, folder


def test_four_ranks_train_like_one(trained):
    results, _ = trained
    for name, one in results[1].items():
        four = results[4][name]
        tolerance = 1e-3 if name == "float16" else 1e-6
        assert four["losses"] == pytest.approx(one["losses"], rel=tolerance), name
        assert four["sum"] == pytest.approx(one["sum"], rel=tolerance), name
    assert one["losses"][-1] < 0.8 * one["losses"][0]


def test_the_same_bits_twice_and_in_every_way(trained, tmp_path):
    results, _ = trained
    again = json.loads(output(4, "training.py", tmp_path, 0, 3, timeout=120))
    assert again == results[4]
    bits = {results[4][name]["bits"] for name in ("fit", "function", "eager", "small buckets")}
    assert len(bits) == 1


@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_training_continues_on_another_number_of_ranks(trained, ranks):
    results, folder = trained
    continued = json.loads(output(ranks, "training.py", folder, 2, 3))["fit"]
    if ranks == 2:  # 32 rows can be split equally
        loss, accuracy = continued["losses"]
        assert loss == pytest.approx(results[4]["fit"]["losses"][2], rel=1e-6)
        assert accuracy == pytest.approx(results[4]["fit"]["losses"][5], rel=1e-6)
        assert continued["sum"] == pytest.approx(results[4]["fit"]["sum"], rel=1e-6)


# How the last rank of three fails, and what is printed; "|" separates alternatives.
FAILURES = {
    "kill": ["process rank 2", "signal 9"],
    "error": ["numtape: rank 2 of 3 failed: ValueError: a bad value"],
    "exit": ["rank 2 ended without calling collective 10 (allreduce of 'step')"],
    "shape": [
        "'step' of shape (4,) and dtype float32 on rank 2",
        "'step' of shape (3,) and dtype float32 on ranks 0, 1",
    ],
    "order": ["allgather of 1 array on rank 2", "allreduce (Sum) of 1 array on ranks 0, 1"],
    "nan": ["values of rank 2 are not finite; here 'w", "values of rank 2 are not finite. "],
    "early exit": ["process rank 2|_wait_until_all_ranks_call_init"],
    "early sleep": ["Timeout (0:00:03)!", "_wait_until_all_ranks_call_init"],
    "sleep": [
        "DistributedTimeoutError",
        "It waits for rank 2, which has called 10 collectives and is at failing.py:",
    ],
    "stop": ["DistributedTimeoutError", "It waits for rank 2, which does not answer"],
}


@pytest.mark.parametrize(
    "repeat", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 10))]
)
@pytest.mark.parametrize("how", FAILURES)
def test_a_rank_that_fails_ends_all_ranks_with_a_reason(how, repeat, tmp_path):
    begin = time.monotonic()
    timeout = 3 if how in ("sleep", "stop") or how.startswith("early") else 60
    status, printed, errors = launch(
        3, "failing.py", how, tmp_path, timeout=60, NUMTAPE_DISTRIBUTED_TIMEOUT=timeout
    )
    assert status != 0
    for text in FAILURES[how]:
        said = " ".join((printed + errors).split())
        assert any(part in said for part in text.split("|")), errors
    assert time.monotonic() - begin < 40  # with starting and compiling, on a busy machine
    for name in os.listdir(tmp_path):
        assert not _is_running(int(name)), f"process {name} is left behind"


def _is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    "example", ["digits_tape.py", pytest.param("digits_fit.py", marks=pytest.mark.slow)]
)
def test_examples_of_the_page(example):
    printed = output(4, EXAMPLES / example)
    assert printed.split("\n")[-2].endswith("on 4 ranks")
    losses = [float(line.split()[-1]) for line in printed.split("\n") if "loss" in line]
    assert len(losses) == 10
    assert losses[-1] < 0.2 * losses[0]


def test_one_process_alone_is_a_job(tmp_path):
    nt.distribute.init()
    assert (nt.distribute.rank(), nt.distribute.size()) == (0, 1)
    x = nt.constant([1.0, 2.0])
    assert nt.distribute.allreduce(x).numpy().tolist() == [1.0, 2.0]


def test_a_signal_to_the_launcher_ends_all_ranks(tmp_path):
    job = start(3, "failing.py", "sleep", tmp_path, NUMTAPE_DISTRIBUTED_TIMEOUT=60)
    end = time.monotonic() + 60
    while len(os.listdir(tmp_path)) < 3 and time.monotonic() < end:
        time.sleep(0.1)
    job.terminate()
    job.communicate(timeout=60)
    assert job.returncode != 0
    pids = [int(name) for name in os.listdir(tmp_path)]
    while any(map(_is_running, pids)) and time.monotonic() < end:
        time.sleep(0.1)
    assert len(pids) == 3
    assert not any(map(_is_running, pids))


def test_a_program_that_does_not_exist():
    status, _, errors = launch(2, "absent.py")
    assert status == 2
    assert "absent.py' does not exist" in errors
