from jaxbandit.cli.command_line import main as main
