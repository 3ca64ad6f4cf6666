import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.CloseableIterator;

/** Counts words in the cluster and fails when a count is wrong.  Flink's own examples are not published. */
public class CountWords {
    private static final int REPEATS = 1000;

    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        DataStream<Tuple2<String, Integer>> counts = environment
            .fromSequence(1, REPEATS)
            .map(number -> Tuple2.of(number % 2 == 0 ? "even" : "odd", 1))
            .returns(Types.TUPLE(Types.STRING, Types.INT))
            .keyBy(pair -> pair.f0)
            .sum(1);
        int highest = 0;
        try (CloseableIterator<Tuple2<String, Integer>> results = counts.executeAndCollect("count words")) {
            while (results.hasNext()) {
                highest = Math.max(highest, results.next().f1);
            }
        }
        System.out.println("highest count " + highest);
        if (highest != REPEATS / 2) {
            throw new IllegalStateException("expected " + REPEATS / 2 + ", counted " + highest);
        }
    }
}
