"""What edits of settings entail that the motion stack is made of."""

from . import motion_show, runtime


def stack_changed(self, _context) -> None:
    """One that entries of the motion stack are made from: they are made anew, and the frame is shown anew."""
    runtime.settings_changed(self.id_data)
    motion_show.later()


def stack_value_changed(self, _context) -> None:
    """One that the motion stack reads on every frame and that leaves no trace in those to come."""
    runtime.settings_changed(self.id_data, stack=False)
    motion_show.later()
