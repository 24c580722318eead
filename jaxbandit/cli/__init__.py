from jaxbandit.cli.command_line import main as main
from jaxbandit.cli.command_line import process as process
