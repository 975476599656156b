"""For an Airflow whose `plugins_folder` is this one: nothing is registered here.

The entry point of the installed package brings the plugin, and Airflow tells of a second one of
its name as an error. So this file has the module, and not the class, among its names.
"""

import onceproof.airflow.plugin  # noqa: F401
