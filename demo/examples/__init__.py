"""Short shots that each show one thing: `python3.11 dev.py example NAME`.

Every module here has `main(out)`, which writes shot.blend, report.json and contact-sheet.png into the folder `out`
and prints its main figures.
"""

# One line each: the module's name and what it shows.
EXAMPLES = {
    "look_at": "three characters look at a moving ball, their feet planted",
    "look_at_compare": "one character and a circling target: ours beside Damped Track and Blender's IK",
    "locomotion": "idle, walk and run by measured speed; leaning, aiming and looking on top; hit while running",
    "push": "a walker stumbles after a push",
    "bump": "two walkers run into each other",
    "holding_hands": "two walkers take each other's hands",
    "drunk_walk": "a walk on loose joints",
    "one_arm_limp": "a walk with one arm that nothing drives",
    "knock_out": "a walker is knocked out, falls, comes to rest and gets up where it lies",
    "wind": "two limp figures in force fields: one hangs in gusts, one floats in a vortex",
    "tumble": "a tumble in the air that keeps its momentum",
    "two_falls": "a rag, and somebody who protects himself, pushed alike",
    "stunt": "struck by a box of a car's size, thrown, and up again, hurt",
    "staircase": "pushed down a staircase, and up again on what is there",
    "crowd_shove": "a wave of pushes through ten people, who step or fall, and get up",
    "slip": "a fall on the back with reflexes awake",
    "horse_down": "a horse is knocked off its legs, rolls to its chest and rises with the front legs first",
    "boxer": "three punches taken standing, one that fells",
    "get_up_compare": "heights of mass center, hands and feet of our get-ups beside recorded ones",
}
