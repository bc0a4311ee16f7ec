"""Texts of secrets, which AWS Secrets Manager keeps."""

import boto3

from lakegate.adapters.aws import CONFIG, aws_errors


def secret_text(name: str, owner: str = "") -> str:
    """Return the text of a secret, by its name, or "" if it has none. An error says `owner` it is."""
    with aws_errors(f"reading the secret {name}" + (f" of {owner}" if owner else "")):
        answer = boto3.client("secretsmanager", config=CONFIG).get_secret_value(SecretId=name)
    return answer.get("SecretString", "").strip()
