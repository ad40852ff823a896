#!/usr/bin/env python3
"""Fetch objects with another client, each whole into memory, so many at once.

usage: bench/s3-peer.py CLIENT CONCURRENCY BUCKET < keys

Endpoint, credentials and certificates come from the environment. Prints what it took as one JSON object: processor
seconds of this process from after the imports, as a training job has them loaded once.
"""
import asyncio
import concurrent.futures
import json
import os
import resource
import sys
import threading
import time
import urllib.parse

ENDPOINT = os.environ["AWS_ENDPOINT_URL"]
KEY, SECRET = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
REGION = os.environ["AWS_REGION"]
times = []


def timed(get):
    def run(key):
        begin = time.monotonic()
        size = get(key)
        times.append(time.monotonic() - begin)
        return size
    return run


def in_threads(get, keys, n):
    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        return sum(pool.map(timed(get), keys))


async def in_tasks(get, keys, n):
    room = asyncio.Semaphore(n)

    async def run(key):
        async with room:
            begin = time.monotonic()
            size = await get(key)
            times.append(time.monotonic() - begin)
            return size
    return sum(await asyncio.gather(*map(run, keys)))


def prepare_boto3(bucket, keys, n):
    import boto3
    from botocore.config import Config
    client = boto3.client("s3", config=Config(max_pool_connections=n, s3={"addressing_style": "path"}))
    return lambda: in_threads(lambda key: len(client.get_object(Bucket=bucket, Key=key)["Body"].read()), keys, n)


def prepare_aiobotocore(bucket, keys, n):
    from aiobotocore.config import AioConfig
    from aiobotocore.session import get_session

    async def main():
        config = AioConfig(max_pool_connections=n, s3={"addressing_style": "path"})
        async with get_session().create_client("s3", endpoint_url=ENDPOINT, config=config) as client:
            async def get(key):
                answer = await client.get_object(Bucket=bucket, Key=key)
                async with answer["Body"] as body:
                    return len(await body.read())
            return await in_tasks(get, keys, n)
    return lambda: asyncio.run(main())


def prepare_obstore(bucket, keys, n):
    import obstore
    from obstore.store import S3Store
    # certificates: SSL_CERT_FILE
    store = S3Store(bucket, endpoint=ENDPOINT, access_key_id=KEY, secret_access_key=SECRET, region=REGION,
                    virtual_hosted_style_request=False, client_options={"allow_http": True})

    async def main():
        async def get(key):
            answer = await obstore.get_async(store, key)
            return len(await answer.bytes_async())
        return await in_tasks(get, keys, n)
    return lambda: asyncio.run(main())


def prepare_s3torchconnector(bucket, keys, n):
    from s3torchconnectorclient._mountpoint_s3_client import MountpointS3Client
    client = MountpointS3Client(region=REGION, user_agent_prefix="bench", throughput_target_gbps=10.0,
                                part_size=8 * 1024 * 1024, endpoint=ENDPOINT, force_path_style=True)
    return lambda: in_threads(lambda key: sum(map(len, client.get_object(bucket, key))), keys, n)


def prepare_awscrt(bucket, keys, n):
    from awscrt import auth, http, io, s3
    url = urllib.parse.urlparse(ENDPOINT)
    loops = io.EventLoopGroup(2)
    bootstrap = io.ClientBootstrap(loops, io.DefaultHostResolver(loops))
    provider = auth.AwsCredentialsProvider.new_static(KEY, SECRET)
    signing = s3.create_default_s3_signing_config(region=REGION, credential_provider=provider)
    tls, mode = None, s3.S3RequestTlsMode.DISABLED
    if url.scheme == "https":
        context = io.TlsContextOptions()
        context.override_default_trust_store_from_path(None, os.environ["AWS_CA_BUNDLE"])
        tls, mode = io.ClientTlsContext(context).new_connection_options(), s3.S3RequestTlsMode.ENABLED
    client = s3.S3Client(bootstrap=bootstrap, region=REGION, signing_config=signing, tls_mode=mode,
                         tls_connection_options=tls, throughput_target_gbps=10.0)

    def main():
        room, total, lock, wrong, requests = threading.Semaphore(n), [0], threading.Lock(), [], []

        def start(key):
            begin, size = time.monotonic(), [0]

            def on_body(chunk, offset, **kwargs):
                size[0] += len(chunk)

            def on_done(error=None, **kwargs):
                with lock:
                    times.append(time.monotonic() - begin)
                    total[0] += size[0]
                    if error is not None:
                        wrong.append(repr(error))
                room.release()
            headers = http.HttpHeaders([("Host", url.netloc)])
            request = http.HttpRequest("GET", f"/{bucket}/{urllib.parse.quote(key)}", headers)
            requests.append(client.make_request(type=s3.S3RequestType.GET_OBJECT, request=request, on_body=on_body,
                                                on_done=on_done))
        for key in keys:
            room.acquire()
            start(key)
        for request in requests:
            try:
                request.finished_future.result()
            except Exception as error:
                wrong.append(repr(error))
        if wrong:
            raise RuntimeError(wrong[0])
        return total[0]
    return main


def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    client, concurrency, bucket = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    keys = [line.rstrip("\n") for line in sys.stdin]
    run = globals()["prepare_" + client](bucket, keys, concurrency)
    before, begin = cpu(), time.monotonic()
    size = run()
    wall, used = time.monotonic() - begin, cpu() - before
    times.sort()
    print(json.dumps({"objects": len(keys), "bytes": size, "cpu_s": round(used, 4), "wall_s": round(wall, 4),
                      "p50_ms": round(1e3 * times[len(times) // 2], 2),
                      "p99_ms": round(1e3 * times[len(times) * 99 // 100], 2)}), flush=True)
    os._exit(0)  # threads of some clients outlive their last request


main()
