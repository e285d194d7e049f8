"""Settings of Celery workers; dagster_celery.app looks for a module of this name.

A run is taken when a child is free for it, not before: one that waits in a busy worker's hands would be given
up as never started. The definitions are loaded before children are forked, so that a run starts in a fraction
of a second; a new release needs workers started anew.
"""

import os

broker_url = os.environ["DAGSTER_CELERY_BROKER"]
result_backend = os.environ["DAGSTER_CELERY_BACKEND"]
broker_connection_retry_on_startup = True
imports = ("pipeline.definitions",)
task_acks_late = True
worker_prefetch_multiplier = 1
worker_max_tasks_per_child = 100
