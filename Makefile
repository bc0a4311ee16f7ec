# One obvious command for each thing. `make` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
UNIT := $(PYTEST) -m "not schedules and not hostile and not nessie and not http and not spark and not synth and not local and not datacontract and not readers and not dashboard and not orchestrators"
FILES := audit contracts duckdb express formats inference reading spark synthetic trial wap
# Outside pytest, which knows the folder, too: schedules over HTTP have tokens of the local cloud's issuer.
SIMULATE := PYTHONPATH=localstack/plugins $(BIN)/python -m tests.simulation
JOBS ?= 5
BUNDLE ?= emr-spark-8.1.0
UNDER ?= airflow dagster dbos prefect
REFERENCE := commands options vocabulary catalogue limits schemas rights deployer
TYPED = $(sort $(dir $(wildcard $(addsuffix /*.py,lakegate handlers spark_jobs infra localstack/* localstack/*/* tools examples bench tests))))

.DEFAULT_GOAL := help
.PHONY: bom help setup deploy-setup demo example up down test layers lint test-schedules test-extended test-unit test-unit-service test-unit-files test-hostile test-nessie test-postgres test-http test-spark test-bundle test-datacontract test-readers test-dashboard test-orchestrators test-synth test-local test-wheel wheel search bench bench-audit bench-cold-start bench-dashboard bench-keys bench-express bench-publish bench-receipts chaos docs reference lock pictures clean simulate simulate-nessie

help: ## list the targets
	@echo "make demo   sets everything up and shows the whole loop; make test runs the whole gate. All targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install everything, pinned by hash, inside this checkout; a second run takes a second
	@$(PYTHON) tools/setup.py

deploy-setup: ## install what deploying to AWS needs, and nothing more: no Spark, no Java, no LocalStack, no tests
	@$(PYTHON) tools/setup.py deploy

demo: setup ## start the local cloud, drop a year of flights and one bad month, show what became of them
	@$(BIN)/python -m examples.demo

up: setup ## start the local cloud and deploy the stack to it
	@$(BIN)/lakegate local up

down: ## stop the local cloud
	@test ! -x $(BIN)/lakegate || $(BIN)/lakegate local down

# Schedules fill all cores by themselves: so they come first, alone.
# The layers know nothing of each other, and the longest are the first. A layer that starts Spark, Nessie or the local
# cloud waits for them a good part of its time, so five at a time fill two cores to the end.
# Each one's output comes in one piece when it has ended (make 4), and all run, whichever fails.
test: test-schedules ## the whole gate: schedules, then linters and every layer of tests, five at a time (JOBS=1: one)
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) $(if $(filter output-sync,$(.FEATURES)),-O) layers

layers: test-local test-nessie test-spark test-unit-service test-unit-files test-http test-hostile lint test-synth ## the same but the schedules, as `make -j` says

lint: setup ## ruff, mypy --strict, import-linter, cfn-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports
	$(BIN)/python -m tests.infra.lint

test-schedules: setup ## 1,500 simulated schedules of faults, always the same (half a minute)
	$(PYTEST) -m schedules tests/simulation

test-unit: test-unit-service test-unit-files ## the other tests without Spark and servers (five minutes)

test-unit-service: setup ## those of them on the service, its command line and its infrastructure
	$(UNIT) $(FILES:%=--ignore=tests/%) tests

test-unit-files: setup ## those of them on contracts, files and audits
	$(UNIT) $(FILES:%=tests/%)

test-hostile: setup ## hostile names, files and contracts, by how work grows with them, and fuzzing (two minutes)
	$(PYTEST) -m hostile tests/hostile

test-nessie: setup ## tests against a real Nessie
	$(PYTEST) -m nessie tests/cli tests/express tests/flow tests/ports tests/spark tests/wap

test-postgres: setup ## the ports' contracts and the whole flow against a real Nessie over PostgreSQL (no part of make test)
	$(PYTEST) -m nessie --postgres --extended tests/ports tests/flow

test-http: setup ## thirty schedules with faults of the network before a real Nessie (a minute)
	$(PYTEST) -m http tests/simulation

test-extended: setup ## ten thousand schedules, a hundred and fifty of the network, and what else takes long; CI runs it beside make test (twenty minutes)
	$(PYTEST) --extended -m "schedules or http or (hypothesis or extended) and not (hostile or spark or nessie or local)" tests
	$(PYTEST) --extended -m "(hypothesis or extended) and hostile" tests
	$(PYTEST) --extended -m "extended and (spark or nessie) and not hostile" --ignore=tests/flow tests  # test-postgres has those
	$(PYTEST) --extended tests/spark/test_differential.py
	$(PYTEST) --extended -m "extended and local" tests/local

test-spark: setup ## tests in a Spark session
	$(PYTEST) -m "spark and not nessie" tests/contracts tests/hostile tests/spark

test-bundle: setup ## tests of the job on the Spark and Python of BUNDLE=emr-spark-8.1.0, some against a real Nessie (twenty minutes; no part of make test)
	@$(PYTHON) tools/setup.py $(BUNDLE)
	.local/envs/$(BUNDLE)/bin/python -m pytest --extended -m spark tests/contracts tests/hostile tests/spark

test-datacontract: setup ## datacontract-cli, in an environment of its own, takes our contracts and tests tables on main (no part of make test)
	@$(PYTHON) tools/setup.py datacontract
	$(PYTEST) -m datacontract tests/datacontract

test-dashboard: setup ## the dashboard in a headless browser of this machine, driven from an environment of its own (no part of make test)
	@$(PYTHON) tools/setup.py dashboard
	.local/envs/dashboard/bin/python -m pytest -m dashboard tests/dashboard

pictures: setup ## make docs/pictures: the demo in a terminal, its message in Slack, and its dashboard in a headless browser
	@$(PYTHON) tools/setup.py pictures
	@$(PYTHON) tools/setup.py dashboard
	$(BIN)/python -m examples.recording
	.local/envs/pictures/bin/python -m examples.condensed .local/pictures/demo.cast .local/pictures/condensed.cast
	.local/envs/pictures/bin/termtosvg render .local/pictures/condensed.cast docs/pictures/demo.svg -D 6000
	$(BIN)/python -m examples.slack_page .local/pictures/slack.json docs/pictures/slack.png
	.local/envs/dashboard/bin/python -m examples.pictures

test-readers: setup ## Polars and DuckDB's own extension, in an environment of their own, read tables by what `lakegate readers` prints (no part of make test)
	@$(PYTHON) tools/setup.py readers
	$(PYTEST) -m readers tests/readers

test-orchestrators: setup ## lakegate.wap under Airflow, Dagster, DBOS and Prefect, each in an environment of its own (twenty minutes; UNDER=… runs one; no part of make test)
	@for name in $(UNDER); do $(PYTHON) tools/setup.py $$name || exit; done
	$(PYTEST) -m orchestrators -k "$(foreach name,$(UNDER),$(name) or )none" tests/orchestrators

example: setup ## run the example of UNDER=airflow, dagster, dbos or prefect on the local cloud
	@$(PYTHON) tools/setup.py $(UNDER)
	@$(BIN)/lakegate local up
	@$(BIN)/python -m examples.orchestrators $(UNDER)

test-synth: setup ## tests of the synthesised CDK app
	$(PYTEST) -m synth tests/infra

test-local: setup ## tests of the whole loop on the local cloud
	$(PYTEST) -m local tests/local

wheel: setup ## build the wheel, which carries all that its home needs, into dist/
	@rm -f dist/*.whl
	@.local/envs/bootstrap/bin/uv build --quiet --wheel --out-dir dist --build-constraints requirements.lock --require-hashes

bom: setup ## write bills of materials in CycloneDX's form into .local/bom/: of what people install, of both zips of functions, and of jars and the cdk command
	@$(PYTHON) tools/setup.py bom
	@mkdir -p .local/bom
	@.local/envs/bom/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible -o .local/bom/install.cdx.json requirements.txt
	@.local/envs/bom/bin/cyclonedx-py requirements --output-reproducible -o .local/bom/functions.cdx.json handlers/requirements.txt
	@.local/envs/bom/bin/cyclonedx-py requirements --output-reproducible -o .local/bom/express.cdx.json handlers/express.txt
	@.local/envs/bom/bin/python -W ignore tests/support/bom.py .local/bom/others.cdx.json

test-wheel: wheel ## from the wheel, in empty homes: what deploys, as far as AWS, the first run of docs/how-to/wap.md, and docs/tutorial.md command by command (ten minutes; READER=… is their python3; no part of make test)
	$(BIN)/python -m tests.tutorial.deployment $(if $(READER),--python $(READER)) dist/*.whl
	$(BIN)/python -m tests.tutorial.library $(if $(READER),--python $(READER)) dist/*.whl
	$(BIN)/python -m tests.tutorial $(if $(READER),--python $(READER)) dist/*.whl

search: setup ## random tests with new examples, and more of them; a failure says how to repeat it; TABLES=… sets how many tables both engines are compared by
	$(PYTEST) -m hypothesis --hypothesis-profile=search
	DIFFERENTIAL_SEED=random DIFFERENTIAL_TABLES=$(TABLES) $(PYTEST) tests/spark/test_differential.py

simulate: setup ## a million simulated schedules of faults from any seed on (an hour or two); SEED=… shows one step by step, SCHEDULES=… runs fewer
	$(SIMULATE) $(if $(SEED),--seed $(SEED)) $(if $(SCHEDULES),--schedules $(SCHEDULES))

simulate-nessie: setup ## two thousand short schedules of HTTP faults over a real Nessie (20 minutes); SEED=… and SCHEDULES=… as above
	$(SIMULATE) --nessie $(if $(SEED),--seed $(SEED)) $(if $(SCHEDULES),--schedules $(SCHEDULES))

bench: setup ## what an audit costs on top of the append it audits
	$(BIN)/python -m bench

bench-audit: setup ## what the audit costs on ten million rows, beside other engines in environments of their own (two hours)
	$(BIN)/python -m bench.audit

chaos: setup ## break the real local cloud at twenty-four points of a year of flights, on both lanes and in the hand-over; every flight must be on main once (half an hour)
	$(BIN)/python -m tests.chaos

bench-cold-start: setup ## how much faster a function imports its code for the zip's byte code (two minutes)
	$(BIN)/python -m bench.cold_start

bench-express: setup ## what files of 0.1, 1 and 10 MB take to main by the express lane, by Spark and by the article's own shape, and many at once (half an hour)
	$(BIN)/python -m bench.express

bench-dashboard: setup ## what each page of the dashboard takes with ten thousand batches of history, on a real Nessie (five minutes)
	$(BIN)/python -m bench.dashboard

bench-receipts: setup ## what a million decided files cost the next one, on a real Nessie (ten minutes)
	$(BIN)/python -m bench.receipts

bench-keys: setup ## what uniqueness in tables of 1, 10 and 100 million keys costs a batch (ten minutes, two gigabytes)
	$(BIN)/python -m bench.keys

bench-publish: setup ## what a publish costs a table of 10 data files and one of 10,000, and how many land in a second (three minutes)
	$(BIN)/python -m bench.publish

docs: setup ## build the site of the documentation into .local/site, with strict links
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

reference: setup ## write the pages of docs/reference that are made from the code
	@for page in $(REFERENCE); do $(BIN)/python -m tests.support.$$page; done
	@$(BIN)/python tools/costs.py

lock: setup ## resolve the dependencies and export every requirements file (UPGRADE=1: to the newest allowed)
	$(BIN)/python tools/lock.py $(if $(UPGRADE),--upgrade)

clean: down ## stop the local cloud and remove everything set-up and runs have left
	rm -rf $(VENV) .local infra/node_modules cdk.out .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
