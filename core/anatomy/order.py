"""The order in which a tree is walked."""


def from_the_roots(parents) -> list:
    """Indices [m] of a tree with parents before their children; `parents` [m] in any order, -1 at roots."""
    children = [[] for _parent in parents]
    for i, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(i)
    order = [i for i, parent in enumerate(parents) if parent < 0]
    for i in order:
        order.extend(children[i])
    return order
