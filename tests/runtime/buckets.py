"""The buckets of the S3 case, on moto's server. Its Python has moto and boto3."""
import signal
import tempfile

import boto3
from boto3.s3.transfer import TransferConfig
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

PLACE = "http://10.88.255.254:9000"
ThreadedMotoServer("10.88.255.254", 9000).start()
client = boto3.client("s3", endpoint_url=PLACE, region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")


def bucket(name, **objects):
    client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    for key, text in objects.items():
        client.put_object(Bucket=name, Key="p/" + key, Body=text.encode())


# One of which the bytes are no longer those that came.
bucket("rotten", good="good", bad="bad")
s3_backends["123456789012"]["aws"].buckets["rotten"].keys["p/bad"]._etag = "0" * 32

bucket("closed", a="a")
client.put_bucket_policy(
    Bucket="closed",
    Policy='{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:*", '
    '"Resource": ["arn:aws:s3:::closed", "arn:aws:s3:::closed/*"]}]}',
)

bucket("many", **{f"{number % 7}/{number}": str(number) * 1000 for number in range(600)})

many = {f"small/{number}": str(number) for number in range(200)}
bucket("data", **{"deep/er/text": "of the bucket\n", "empty": "", "a b+ü~": "x", **many})
client.put_object(Bucket="data", Key="other", Body=b"not below the prefix")
parts = TransferConfig(multipart_threshold=1 << 20, multipart_chunksize=8 << 20)
with tempfile.NamedTemporaryFile() as file:
    file.write(b"0123456789abcdef" * (20 << 16))
    file.flush()
    client.upload_file(file.name, "data", "p/parts", Config=parts)
bucket("ready")
signal.pause()
