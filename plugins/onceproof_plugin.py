"""A placeholder for an Airflow whose `plugins_folder` is this folder; it registers nothing.

The installed package's entry point registers the plugin, and Airflow reports a second plugin of the
same name as an error. So this file imports the module and not the class.
"""

import onceproof.airflow.plugin  # noqa: F401
