"""Trust of the driver's JVM: authorities that a catalog's certificate may be of, beside those of the image."""

from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.jvm.gateway import jvm

STORE, PASSWORD = "javax.net.ssl.trustStore", "javax.net.ssl.trustStorePassword"
TRUST_PROPERTY = "lakegate.authorities"  # the property that says which are trusted already
_WORD = "changeit"  # Java's own default, and no secret: the store has certificates alone


def add(spark: SparkSession, authorities: str) -> None:
    """Trust authorities, certificates as PEM text, for every connection that the driver opens from now on. Executors
    reach storage alone, and trust what they did.

    The JVM takes one file for all, so this writes one with the image's authorities and these, and makes it that of
    clients that come later and of those that share Java's default context.
    """
    java = jvm(spark).java
    if not authorities or java.lang.System.getProperty(TRUST_PROPERTY) == authorities:
        return
    store = _image(java)
    text = java.io.ByteArrayInputStream(authorities.encode())
    for number, certificate in enumerate(
        java.security.cert.CertificateFactory.getInstance("X.509").generateCertificates(text)
    ):
        store.setCertificateEntry(f"lakegate-{number}", certificate)
    file = java.io.File.createTempFile("authorities", ".p12")
    file.deleteOnExit()
    stream = java.io.FileOutputStream(file)
    store.store(stream, _characters(java, _WORD))
    stream.close()
    for name, value in {STORE: file.getPath(), PASSWORD: _WORD, TRUST_PROPERTY: authorities}.items():
        java.lang.System.setProperty(name, value)
    _make_default(jvm(spark).javax.net.ssl, store)


def _image(java: Any) -> Any:
    """Return the store of the authorities that the image trusts, in memory."""
    home = java.lang.System.getProperty("java.home")
    path = java.lang.System.getProperty(STORE) or f"{home}/lib/security/cacerts"
    store = java.security.KeyStore.getInstance(java.security.KeyStore.getDefaultType())
    file = java.io.FileInputStream(path)
    store.load(file, None)
    file.close()
    return store


def _characters(java: Any, text: str) -> Any:
    """Return Java's array of the characters. Py4J gives Java's texts as Python's, which have no such method."""
    writer = java.io.CharArrayWriter()
    writer.write(text)
    return writer.toCharArray()


def _make_default(ssl: Any, store: Any) -> None:
    factory = ssl.TrustManagerFactory.getInstance(ssl.TrustManagerFactory.getDefaultAlgorithm())
    factory.init(store)
    context = ssl.SSLContext.getInstance("TLS")
    context.init(None, factory.getTrustManagers(), None)
    ssl.SSLContext.setDefault(context)
