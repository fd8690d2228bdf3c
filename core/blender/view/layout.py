"""Rows and fields of panels, for whoever draws settings."""


def rows(layout, keyed: bool = False):
    """Labels on the left, values on the right; the column of dots for keys only where the values can be keyed."""
    layout.use_property_split = True
    layout.use_property_decorate = False
    column = layout.column(align=True)
    if keyed:
        column.use_property_decorate = True
    return column


def props(layout, data, *names: str, **options) -> None:
    """Several properties of one owner, with the same options."""
    for name in names:
        layout.prop(data, name, **options)


def keyed(layout, data, *names: str, **options) -> None:
    """Properties that can be keyed, among others that cannot."""
    column = layout.column(align=True)
    column.use_property_split = column.use_property_decorate = True
    props(column, data, *names, **options)


def bone_field(layout, obj, item, prop: str, **options) -> None:
    """A field that offers the bones of an armature."""
    layout.prop_search(item, prop, obj.data, "bones", **options)


def object_fields(layout, item, obj_prop: str, bone_prop: str) -> None:
    """An object, and a bone of it when it is an armature."""
    layout.prop(item, obj_prop)
    chosen = getattr(item, obj_prop)
    if chosen is not None and chosen.type == "ARMATURE":
        bone_field(layout, chosen, item, bone_prop)
