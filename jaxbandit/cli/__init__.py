from jaxbandit.cli.entry import main as main
