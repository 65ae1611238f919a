"""The systems by name."""

from gridsum.baselines import deep_thinking, dngpu, grid_lstm, lstm_act, position_coupling, s2g_cnn, universal
from gridsum.baselines.system import System
from gridsum.config.paper import ConfigError
from gridsum.io.names import did_you_mean

_MODULES = (s2g_cnn, dngpu, grid_lstm, lstm_act, universal, deep_thinking, position_coupling)
SYSTEMS: dict[str, System] = {module.SYSTEM.name: module.SYSTEM for module in _MODULES}


def find(name: str) -> System:
    if name not in SYSTEMS:
        mend = did_you_mean(name, SYSTEMS, f"the systems are {', '.join(SYSTEMS)}")
        raise ConfigError(f"there is no system {name!r}; {mend}")
    return SYSTEMS[name]
