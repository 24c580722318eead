from jaxbandit.lab.cli.command_line import main as main
from jaxbandit.lab.cli.command_line import process as process
