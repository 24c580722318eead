from . import bounds as bounds
