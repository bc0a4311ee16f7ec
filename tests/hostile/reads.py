"""Count the letters of a text that Java's own engine reads before it is done with a pattern. No time is measured.

The counting text is a class of Java's, which Spark's compiler makes. It judges nothing.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.jvm.gateway import jvm

OVERFLOWS = -1
_SOURCE = """
public class Reads implements CharSequence {
    private final String text; private final long most; private long read = 0;
    public Reads(String text, long most) { this.text = text; this.most = most; }
    public int length() { return text.length(); }
    public char charAt(int at) {
        if (++read > most) { throw new IllegalStateException("busy"); }
        return text.charAt(at);
    }
    public CharSequence subSequence(int from, int to) { return text.substring(from, to); }
    public String toString() { return text; }
    public static long of(String pattern, String text, long most) {
        Reads reads = new Reads(text, most);
        try {
            java.util.regex.Pattern.compile(pattern).matcher(reads).find();
        } catch (IllegalStateException error) {
        } catch (StackOverflowError error) {
            return -1;
        }
        return reads.read;
    }
}
"""


class Java:
    """Java's engine in the session's JVM."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm = jvm(spark)
        compiler = self._jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(_SOURCE)
        made = compiler.getClassLoader().loadClass("Reads")
        [self._method] = [method for method in made.getMethods() if method.getName() == "of"]

    def reads(self, pattern: str, text: str, most: int) -> int:
        """So many letters are read, at most one more than `most`; OVERFLOWS if the engine's stack is not enough."""
        arguments = self._jvm.java.util.ArrayList()
        for argument in (pattern, text, most):
            arguments.add(argument)
        found: Any = self._method.invoke(None, arguments.toArray())
        return int(found)
