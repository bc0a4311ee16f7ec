"""A deployment's part beside the cdk command: begin with `choices`, then `still`.

`choices` compares what is deployed with what is to be deployed, and is pure. `still` holds an installation still while
its application changes. `assembly` runs the cdk command and reads the templates that it makes.
"""
