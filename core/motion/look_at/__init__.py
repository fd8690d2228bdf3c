"""Look-at: a chain of bones turns until the first of them looks at a point."""

from .chain import BIND, PARENT, LinkedBone, LookAt, LookAtEntry, LookAtState, WeightEvent, weight_at

__all__ = ["BIND", "PARENT", "LinkedBone", "LookAt", "LookAtEntry", "LookAtState", "WeightEvent", "weight_at"]
