"""conda.py RECIPE CHANNEL ENVIRONMENT - builds the conda package into the folder CHANNEL, runs the tests that it
carries, and installs it from there into ENVIRONMENT."""
import asyncio
import os
import sys
import warnings

import rattler
import rattler_build

warnings.simplefilter("ignore", DeprecationWarning)
recipe, channel, environment = sys.argv[1:]
os.makedirs(channel + "/noarch")
source = "file://" + os.path.abspath(channel)
rattler_build.build_recipes(recipes=[recipe], output_dir=channel, channel=[source])
package, = (os.path.join(folder, file) for folder, _, files in os.walk(channel) for file in files if file.endswith(".conda"))
results = rattler_build.Package.from_file(package).run_tests(channel=[source])
for result in results:
    if not result.success:
        sys.exit("\n".join(result.output))
print(os.path.basename(package), "built,", len(results), "test passed")


async def install():
    records = await rattler.solve(sources=[source], specs=["ablate"], virtual_packages=rattler.VirtualPackage.detect())
    await rattler.install(records, target_prefix=environment)


asyncio.run(install())
# Ends the process without ending the interpreter, since threads of rattler's runtime take Python's lock at that end and
# crash, in two of five calls on a busy machine (PyO3/pyo3-async-runtimes, issue 40).
sys.stdout.flush()
os._exit(0)
