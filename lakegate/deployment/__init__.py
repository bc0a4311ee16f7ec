"""A deployment's part beside the cdk command: begin with `choices`.

`choices` compares what is deployed with what is to be deployed, and is pure.
"""
