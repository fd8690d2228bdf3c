"""The self-check: each finding where its cause is there, and not where it just is not."""

import json

import numpy as np
import pytest

from core.ragdoll import diagnosis
from core.ragdoll.bodies.fitting import SPHERE, Shape


def healthy(**changes) -> diagnosis.Situation:
    """Three bodies in a row, well made."""
    values = {
        "names": ["hips", "spine", "head"], "parents": np.array([-1, 0, 1]), "height": 1.8,
        "masses": np.array([10.0, 20.0, 5.0]), "sizes": np.array([0.3, 0.5, 0.2]), "excess": np.zeros(3),
    }  # fmt: skip
    return diagnosis.Situation(**{**values, **changes})


def kinds(**changes) -> list:
    return [finding.kind for finding in diagnosis.diagnose(healthy(**changes))]


CASES = [
    (diagnosis.TIME_SCALE, {"time_scale": 0.5}, {"time_scale": 1.0}),
    (diagnosis.ANIMATED_SCALE, {"scale_range": (1.0, 1.002)}, {"scale_range": (0.01, 0.010005)}),
    (diagnosis.OVERLAP, {"overlaps": [(0, 2, 0.0018 + 1e-6)]}, {"overlaps": [(0, 2, 0.0018 - 1e-6)]}),
    (diagnosis.FIRST_POSE, {"excess": np.radians([0, 1.001, 0])}, {"excess": np.radians([0, 0.999, 0])}),
    (diagnosis.MASS_RATIO, {"masses": np.array([1, 10.01, 5])}, {"masses": np.array([1, 9.99, 5])}),
    # What hangs on a heavier body may be as light as it likes, and so may bodies that are not joined.
    (diagnosis.MASS_RATIO, {"masses": np.array([1, 20, 1])}, {"masses": np.array([50, 3.0, 1.0])}),
    (diagnosis.TINY, {"sizes": np.array([0.3, 0.5, 0.0359])}, {"sizes": np.array([0.3, 0.5, 0.0361])}),
    # A body of 0.05 % of the mass, at the end of a chain.
    (diagnosis.TINY, {"masses": np.array([10.0, 1.1, 0.00549])}, {"masses": np.array([10.0, 1.1, 0.00561])}),
    (diagnosis.SCALE, {"height": 0.299, "sizes": np.ones(3)}, {"height": 0.301, "sizes": np.ones(3)}),
    (diagnosis.SCALE, {"height": 10.01, "sizes": np.ones(3)}, {"height": 9.99, "sizes": np.ones(3)}),
    (diagnosis.GRAVITY_WEIGHT, {"gravity_weight": 0.99}, {"gravity_weight": 1.0}),
    (diagnosis.JOINT_MOVED, {"moved": np.array([0, 0.0181, 0])}, {"moved": np.array([0, 0.0179, 0])}),
    (diagnosis.SUBSTEPS, {"substeps": 19}, {"substeps": 20}),
    (diagnosis.ITERATIONS, {"iterations": 39}, {"iterations": 40}),
]


@pytest.mark.parametrize(("kind", "sick", "well"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_a_finding_where_its_cause_is_and_not_else(kind, sick, well):
    assert kinds(**sick) == [kind] and kinds(**well) == []


def test_texts_have_the_figures_and_the_names():
    found = diagnosis.diagnose(healthy(masses=np.array([1.0, 25.0, 5.0]), substeps=5, excess=np.radians([0, 0, 12])))
    first_pose, mass, steps = found
    assert "'head'" in first_pose.text and "12 deg" in first_pose.text and first_pose.bones == ("head",)
    assert "'spine'" in mass.text and "25 kg" in mass.text and "25 times 'hips'" in mass.text
    assert "120 steps a second" in steps.text and "20" in steps.remedy
    assert [diagnosis.length_text(metres) for metres in (12.345, 0.25, 0.0042)] == ["12.3 m", "25 cm", "4.2 mm"]
    for finding in found:
        assert finding.severity in (diagnosis.ERROR, diagnosis.WARNING, diagnosis.INFO)
        assert json.dumps(finding.arguments) and finding.remedy


def test_more_of_a_kind_are_one_finding():
    found = diagnosis.diagnose(healthy(excess=np.radians([0, 20, 30]), overlaps=[(0, 2, 0.2), (0, 1, 0.1)]))
    assert [f.kind for f in found] == [diagnosis.OVERLAP, diagnosis.FIRST_POSE]
    assert "'hips' and 'head' stand 20 cm" in found[0].text and "(1 more pair)" in found[0].text
    assert "'head' is 30 deg" in found[1].text and found[1].bones == ("head", "spine")


def test_remedies_bring_what_is_asked_for():
    for fps in (12.0, 23.976, 24.0, 25.0, 60.0, 120.0, 240.0, 500.0):
        for time_scale in (0.1, 1.0, 3.0):
            steps = diagnosis.needed_substeps(fps, time_scale)
            assert diagnosis.SUBSTEPS not in kinds(fps=fps, substeps=steps, time_scale=time_scale)
            assert steps == 1 or diagnosis.SUBSTEPS in kinds(fps=fps, substeps=steps - 1, time_scale=time_scale)
    chain = np.arange(-1, 49)
    assert diagnosis.needed_iterations(chain) == 50 and diagnosis.needed_iterations(chain[:4]) == 40
    assert diagnosis.needed_iterations(np.array([-1] + [0] * 60)) == 40  # a star is not deep


def test_joined_and_told_apart_bodies_do_not_count():
    row = [Shape(SPHERE, np.array([x, 0.0, 0.0]), np.eye(3), np.full(3, 0.5)) for x in (0.0, 0.6, 1.2, 1.8)]
    assert diagnosis.overlaps(row, [-1, 0, 1, 2]) == []  # each is in the next
    assert [(i, k) for i, k, _depth in diagnosis.overlaps(row, [-1, 0, -1, -1])] == [(1, 2), (2, 3)]
    assert diagnosis.overlaps(row, [-1, 0, -1, -1], exempt={(2, 1), (2, 3)}) == []
