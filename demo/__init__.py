"""Material of the main-job demo: a character, a walk, a stage, a contact sheet and an importer.

Not part of the extension; it uses bpy freely, and of the extension only its importer.
"""


class DemoError(Exception):
    """Something the demo was given or needs is missing or unusable; the message is one line for the user."""
