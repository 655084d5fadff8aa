"""The library's front door: open a brain file, ask it, read and write its pages."""

from __future__ import annotations

from gbrain.brain.base import clock as clock
from gbrain.brain.base import timestamp as timestamp
from gbrain.brain.base import today as today
from gbrain.brain.folders import FolderMethods
from gbrain.brain.maintenance import MaintenanceMethods, SettingMethods
from gbrain.brain.queries import QueryMethods
from gbrain.brain.remotes import RemoteMethods
from gbrain.brain.structure import StructureMethods
from gbrain.brain.tasks import TaskMethods
from gbrain.paths import default_path as default_path


class Brain(
    QueryMethods,
    TaskMethods,
    StructureMethods,
    RemoteMethods,
    FolderMethods,
    SettingMethods,
    MaintenanceMethods,
):
    """One open brain file; use it in a `with` block.

    Each base class holds the methods of one subject, in the file of that name. TaskMethods
    includes PageMethods, and RemoteMethods includes ImportExportMethods.
    """
