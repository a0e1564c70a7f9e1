"""The dialog for choosing where runs are computed and for testing the connection."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QLineEdit, QRadioButton, QWidget

from slide_gui.blas import cores
from slide_gui.experiments.sweeps.cluster import MOST_WORKERS, ClusterChoice
from slide_gui.gui.state.cluster import ClusterController
from slide_gui.gui.widgets.controls import FormDialog, IntegerBox, label, named
from slide_gui.gui.widgets.layouts import placed
from slide_gui.text import counted

_HERE = "Runs are computed one after the other; no setup is needed"
_LOCAL = "Runs are computed by processes on this computer, each with one thread"
_FAR = "tcp://HOST:PORT, tls://HOST:PORT, or the scheduler’s .json file"
_TRAVELS = (
    "Workers compute sweeps, benchmarks and trials. The program itself computes everything else. A scheduler receives "
    "data, parameters and results, so use a tls:// address, or a scheduler that strangers cannot reach."
)


class ClusterDialog(FormDialog):
    """The dialog for choosing where runs are computed.

    The choices are this window, workers on this computer, and workers of a Dask scheduler.

    Parameters
    ----------
    controller : ClusterController
        Controller that stores the choice and connects to the workers.
    """

    def __init__(self, controller: ClusterController, parent: QWidget) -> None:
        super().__init__("Where runs are computed", parent)
        self._controller = controller
        self.here = QRadioButton("In this window", self)
        self.local = QRadioButton("By workers on this computer", self)
        self.far = QRadioButton("By a Dask scheduler", self)
        self.workers = IntegerBox("Workers on this computer", 1, MOST_WORKERS, self)
        self.scheduler = named(QLineEdit(self, placeholderText="tcp://127.0.0.1:8786"), "Address of the scheduler")
        self.scheduler.setMinimumWidth(240)
        for row, (button, field, hint) in enumerate(
            ((self.here, None, _HERE), (self.local, self.workers, _LOCAL), (self.far, self.scheduler, _FAR))
        ):
            button.toggled.connect(self._follow)
            self.grid.addWidget(button, row, 0)
            if field is not None:
                self.grid.addWidget(field, row, 1)
            self.grid.addWidget(label(hint, self), row, 2)
        self.column.addWidget(label(_TRAVELS, self, wraps=True))
        self.status = placed(self.column, label("", self, "", wraps=True, height=36, accessibleName="Connection"))
        self.column.addStretch(1)
        self.connect_button = self.add_buttons("Close", "Connect", "Connect and check software versions", self._choose)
        controller.changed.connect(self._show)
        self.resize(760, 280)

    def ask(self) -> None:
        """Open the dialog. Its controls show where runs are currently computed."""
        choice = self._controller.state.choice
        self.workers.setValue(choice.workers or min(cores(), MOST_WORKERS))
        self.scheduler.setText(choice.scheduler)
        (self.here if choice.is_here else self.far if choice.scheduler else self.local).setChecked(True)
        self._show()
        self._follow()
        self.open()
        self.connect_button.setFocus()

    def choice(self) -> ClusterChoice:
        """Return the user's choice of where runs are to be computed.

        Raises
        ------
        ValueError
            If the address of the scheduler is missing or invalid.
        """
        workers = self.workers.value() if self.local.isChecked() else 0
        scheduler = self.scheduler.text().strip() if self.far.isChecked() else ""
        if self.far.isChecked() and not scheduler:
            raise ValueError(f"the address of the scheduler is missing; expected {_FAR}")
        return ClusterChoice(workers, scheduler).checked()

    @Slot()
    def _choose(self) -> None:
        try:
            self._controller.choose(self.choice())
        except ValueError as error:
            self.status.setText(f"{str(error)[:1].upper()}{str(error)[1:]}.")

    @Slot()
    def _follow(self) -> None:
        self.workers.setEnabled(self.local.isChecked())
        self.scheduler.setEnabled(self.far.isChecked())
        self.connect_button.setText("Use this window" if self.here.isChecked() else "Connect")

    @Slot()
    def _show(self) -> None:
        state = self._controller.state
        if state.connecting:
            text = f"Connecting to {state.choice}…"
        elif state.problem:
            text = state.problem[:1].upper() + state.problem[1:]
        elif state.n_workers:
            workers = counted(state.n_workers, "worker")
            text = f"Connected: {workers}, all with the same software versions as this window."
        elif state.choice.is_here:
            text = "Runs are computed in this window."
        else:
            text = f"{state.choice}: not connected. Press Connect, or start a sweep, a trial or a benchmark."
        self.status.setText(text)
