/** What is measured, in which order, and what ours is to reach in it. */
import { measure, stdioTarget, withHttpServer } from "./Child.ts"
import { importTime } from "./ImportTime.ts"
import type { Load } from "./measures/Load.ts"
import type { SlowListener } from "./measures/SlowListener.ts"
import { median } from "./Median.ts"
import { figure, type Row, type Verdict } from "./Report.ts"
import type { Era, Target } from "./Subject.ts"
import type { SubjectName } from "./Subjects.ts"

export interface Effort {
  /** How often each measurement is taken; the median counts. */
  readonly runs: number
  /** How much of the usual number of calls is made in each. */
  readonly share: number
}

/** A work and how to measure it. */
export interface Work {
  readonly name: string
  readonly rows: (effort: Effort) => Promise<ReadonlyArray<Row>>
}

/** Takes a measurement of every subject in turn, each time from another one on, so that none is always first. */
const alternating = async <S extends string, A>(
  subjects: ReadonlyArray<S>,
  runs: number,
  take: (subject: S) => Promise<A>
): Promise<(subject: S, pick: (measured: A) => number) => number> => {
  const taken = new Map<S, Array<A>>(subjects.map((subject) => [subject, []]))
  for (let run = 0; run < runs; run++) {
    for (let turn = 0; turn < subjects.length; turn++) {
      const subject = subjects[(run + turn) % subjects.length]
      if (subject !== undefined) taken.get(subject)?.push(await take(subject))
    }
  }
  return (subject, pick) => median((taken.get(subject) ?? []).map(pick))
}

const ratio = (measure: string, ours: number, theirs: number, target: Verdict["target"]): Verdict => ({
  measure: `${measure}, to official`,
  value: ours / theirs,
  target,
  unit: " ×"
})

// =============================================================================
// Loads
// =============================================================================

interface LoadWork {
  readonly name: string
  readonly era: Era
  readonly inFlight: number
  /** Calls in each run, enough for seconds of work, and those before it, for the compiler to settle. */
  readonly calls: number
  readonly warmUp: number
  readonly subjects: ReadonlyArray<SubjectName>
  readonly throughputAtLeast: number
  readonly cpuAtMost: number
}

const loadRow = async (work: LoadWork, target: Target, { runs, share }: Effort): Promise<Row> => {
  const { era, inFlight, subjects } = work
  const calls = work.calls * share
  const warmUp = work.warmUp * share
  const of = await alternating(
    subjects,
    runs,
    (subject) => measure("load", { subject, target, era, inFlight, warmUp, calls })
  )
  const throughput = (subject: SubjectName): number => of(subject, (load: Load) => load.callsPerSecond)
  const cpu = (subject: SubjectName): number => of(subject, (load: Load) => load.cpuMicrosPerCall)
  const verdicts = [
    ratio("throughput", throughput("ours"), throughput("official"), { atLeast: work.throughputAtLeast }),
    ratio("CPU a call", cpu("ours"), cpu("official"), { atMost: work.cpuAtMost })
  ]
  if (subjects.includes("ours over fetch")) {
    verdicts.push(
      ratio("throughput over fetch", throughput("ours over fetch"), throughput("official"), { atLeast: 1.05 })
    )
  }
  return {
    work: work.name,
    figures: subjects.map((subject) => [
      subject,
      [
        figure(throughput(subject), " calls/s"),
        figure(cpu(subject), " µs CPU a call"),
        figure(of(subject, (load) => load.peakMegabytes), " MB peak")
      ].join(", ")
    ]),
    verdicts
  }
}

const eras: ReadonlyArray<Era> = ["legacy", "modern"]
const direct: ReadonlyArray<SubjectName> = ["floor", "official", "effect/ai", "ours"]

const stdioLoad = (load: Omit<LoadWork, "name" | "subjects">): Work => {
  const name = `stdio ×${load.inFlight}, ${load.era}`
  return {
    name,
    rows: async (effort) => [await loadRow({ ...load, name, subjects: direct }, stdioTarget, effort)]
  }
}

const stdio64 = { inFlight: 64, calls: 100_000, warmUp: 10_000, throughputAtLeast: 2.3, cpuAtMost: 0.35 }
const stdio1 = { inFlight: 1, calls: 20_000, warmUp: 5_000, throughputAtLeast: 1.15, cpuAtMost: 0.85 }
const http32 = { inFlight: 32, calls: 20_000, warmUp: 2_000, throughputAtLeast: 3, cpuAtMost: 0.3 }

const httpLoad = (body: "JSON" | "SSE", era: Era): Work => {
  const name = `HTTP ${body} ×32, ${era}`
  const load: LoadWork = { ...http32, name, era, subjects: [...direct, "floor over fetch", "ours over fetch"] }
  return {
    name,
    rows: (effort) =>
      withHttpServer(async (origin) => [
        await loadRow(load, { channel: "http", url: `${origin}/${body.toLowerCase()}` }, effort)
      ])
  }
}

// =============================================================================
// Single figures
// =============================================================================

const listing: Work = {
  name: "1,000 tools listed in memory",
  rows: async ({ runs, share }) => {
    const subjects = ["floor", "official", "ours"] as const
    const lists = Math.ceil(200 * share)
    const of = await alternating(subjects, runs, (subject) => measure("listing", { subject, warmUp: lists / 2, lists }))
    const millis = (subject: typeof subjects[number]): number => of(subject, (measured) => measured.millis)
    return [{
      work: listing.name,
      figures: subjects.map((subject) => [subject, figure(millis(subject), " ms")]),
      verdicts: [ratio("time", millis("ours"), millis("official"), { atMost: 0.3 })]
    }]
  }
}

const bigLine: Work = {
  name: "one line of 80 MB on stdio",
  rows: async ({ runs }) => {
    const subjects = ["floor", "ours"] as const
    const small = await alternating(
      subjects,
      runs,
      (subject) => measure("bigLine", { subject, target: stdioTarget, megabytes: 20 })
    )
    const large = await alternating(
      subjects,
      runs,
      (subject) => measure("bigLine", { subject, target: stdioTarget, megabytes: 80 })
    )
    const millis = (of: typeof small, subject: typeof subjects[number]): number => of(subject, (line) => line.millis)
    return [{
      work: bigLine.name,
      figures: subjects.map((subject) => [
        subject,
        `${figure(millis(large, subject), " ms")}; 20 MB ${figure(millis(small, subject), " ms")}`
      ]),
      verdicts: [
        {
          measure: "time, to 20 MB",
          value: millis(large, "ours") / millis(small, "ours"),
          target: { atMost: 6 },
          unit: " ×"
        },
        {
          measure: "time, to one concat, decode and parse",
          value: millis(large, "ours") / millis(large, "floor"),
          target: { atMost: 2 },
          unit: " ×"
        }
      ]
    }]
  }
}

const sequential: Work = {
  name: "3,000 sequential HTTP calls",
  rows: ({ runs }) =>
    withHttpServer(async (origin) => {
      const subjects = ["official", "effect/ai", "ours"] as const
      const target: Target = { channel: "http", url: `${origin}/json` }
      const of = await alternating(subjects, runs, (subject) =>
        measure("sequentialCalls", { subject, target, calls: 3_000 }))
      return [{
        work: sequential.name,
        figures: subjects.map((subject) => [
          subject,
          [
            figure(
              of(subject, (left) =>
                left.heapGrowthKilobytes),
              " kB more heap after the last 2,000"
            ),
            figure(
              of(subject, (left) =>
                left.peakListeners),
              " abort listeners at most"
            ),
            figure(of(subject, (left) => left.leftListeners), " left"),
            figure(of(subject, (left) => left.warnings), " warnings")
          ].join(", ")
        ]),
        verdicts: [
          {
            measure: "heap growth",
            value: of("ours", (left) => left.heapGrowthKilobytes),
            target: { atMost: 500 },
            unit: " kB"
          },
          {
            measure: "abort listeners at most",
            value: of("ours", (left) => left.peakListeners),
            target: { atMost: 2 },
            unit: ""
          },
          {
            measure: "abort listeners left",
            value: of("ours", (left) => left.leftListeners),
            target: { atMost: 0 },
            unit: ""
          },
          { measure: "warnings", value: of("ours", (left) => left.warnings), target: { atMost: 0 }, unit: "" }
        ]
      }]
    })
}

const idle: Work = {
  name: "1,000 idle sessions in memory",
  rows: async ({ runs }) => {
    const subjects = ["official", "ours"] as const
    const of = await alternating(subjects, runs, (subject) => measure("idleSessions", { subject, sessions: 1_000 }))
    const each = (subject: typeof subjects[number]): number => of(subject, (measured) => measured.kilobytesEach)
    return [{
      work: idle.name,
      figures: subjects.map((subject) => [subject, figure(each(subject), " kB each")]),
      verdicts: [{ measure: "heap each", value: each("ours"), target: { atMost: 10 }, unit: " kB" }]
    }]
  }
}

const slow: Work = {
  name: "100,000 notifications into a slow listener",
  rows: async ({ runs, share }) => {
    const notifications = 100_000 * share
    // More than the queue's bytes allow in as many as it holds.
    const of = await alternating(["ours"], runs, () => measure("slowListener", { notifications, bytes: 10_000 }))
    const median = (pick: (measured: SlowListener) => number): number => of("ours", pick)
    return [{
      work: slow.name,
      figures: [[
        "ours",
        [
          figure(median(({ heapMegabytes }) => heapMegabytes), " MB more heap"),
          figure(median(({ pending }) => pending), " wait"),
          figure(median(({ pendingMegabytes }) => pendingMegabytes), " MB counted"),
          figure(median(({ dropped }) => dropped), " dropped"),
          figure(median(({ microsEach }) => microsEach), " µs each")
        ].join(", ")
      ]],
      // 8 MiB by what they are as JSON, and up to a kilobyte for each of the objects that hold it.
      verdicts: [{
        measure: "heap growth",
        value: median(({ heapMegabytes }) => heapMegabytes),
        target: { atMost: 9 },
        unit: " MB"
      }]
    }]
  }
}

const imports: Work = {
  name: "import of the client",
  rows: async ({ runs }) => {
    const { clientMillis, effectMillis, officialMillis } = await importTime(runs * 3)
    return [{
      work: imports.name,
      figures: [
        ["ours", figure(clientMillis, " ms")],
        ["the Effect modules it uses", figure(effectMillis, " ms")],
        ["official", figure(officialMillis, " ms")]
      ],
      verdicts: [{
        measure: "time, to the Effect modules it uses",
        value: clientMillis / effectMillis,
        target: { atMost: 1.2 },
        unit: " ×"
      }]
    }]
  }
}

const span: Work = {
  name: "span handling without a tracer",
  rows: async ({ share }) => {
    const { microsEach } = await measure("spanCost", { operations: 200_000 * share })
    return [{
      work: span.name,
      figures: [["ours", figure(microsEach, " µs a request")]],
      verdicts: [{ measure: "time a request", value: microsEach, target: { atMost: 0.1 }, unit: " µs" }]
    }]
  }
}

export const works: ReadonlyArray<Work> = [
  ...eras.map((era) => stdioLoad({ ...stdio64, era })),
  ...eras.map((era) => stdioLoad({ ...stdio1, era })),
  ...eras.map((era) => httpLoad("JSON", era)),
  ...eras.map((era) => httpLoad("SSE", era)),
  listing,
  bigLine,
  sequential,
  idle,
  slow,
  imports,
  span
]
