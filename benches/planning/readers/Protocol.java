/** The protocol of the benchmark's readers, for those in Java. `../README.md` has it in words. */
final class Protocol {
  private Protocol() {}

  /** What a reader finds: its numbers as members of a JSON object. */
  interface Answer {
    String of(String path, String task) throws Exception;
  }

  /**
   * Answers the one question on the command line: WARM_UPS TABLE FORMAT TASK, or WARM_UPS --version. With warm-ups the
   * task is done as often before the run that is told of.
   */
  static void serve(String[] arguments, String format, String release, Answer answer) throws Exception {
    String version = "{\"version\": \"" + release + "\"";
    if (arguments[1].equals("--version")) {
      System.out.println(version + ", \"formats\": [\"" + format + "\"]}");
      return;
    }
    int warmUps = Integer.parseInt(arguments[0]);
    for (int run = 0; run < warmUps; run++) {
      answer.of(arguments[1], arguments[3]);
    }
    long start = System.nanoTime();
    String found = answer.of(arguments[1], arguments[3]);
    double seconds = (System.nanoTime() - start) / 1e9;
    System.out.printf("%s, %s, \"seconds\": %.6f, \"runs\": %d}%n", version, found, seconds, warmUps + 1);
    System.exit(0);
  }
}
