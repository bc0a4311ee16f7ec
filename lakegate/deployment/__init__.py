"""A deployment's part beside the cdk command: begin with `choices`, then `states` and `still`.

`choices` compares what is deployed with what is to be deployed, and `states` has the step by which a deployment of a
stack begins; both are pure. `still` holds an installation still while its application changes. `assembly` runs the cdk
command and reads the templates that it makes, and `package` writes them for Terraform.
"""
