/** Lists 1,000 tools, sent as text by a peer in the same process. */
import { median } from "../Median.ts"
import { type MemorySubjectName, memorySubjects } from "../Subjects.ts"

export interface ListingInput {
  readonly subject: MemorySubjectName
  readonly warmUp: number
  readonly lists: number
}

export interface Listing {
  /** The median of all lists. */
  readonly millis: number
}

const toolCount = 1_000

const tool = (index: number): object => ({
  name: `tool_${index}`,
  title: `Tool ${index}`,
  description: `Does thing number ${index}, and says so in a sentence of a usual length.`,
  inputSchema: {
    type: "object",
    properties: {
      path: { type: "string", description: "Where to do it." },
      depth: { type: "integer", minimum: 0, maximum: 10 },
      mode: { enum: ["fast", "careful"] },
      labels: { type: "array", items: { type: "string" } }
    },
    required: ["path"]
  },
  annotations: { readOnlyHint: index % 2 === 0, openWorldHint: false }
})

export const listing = async ({ lists, subject, warmUp }: ListingInput): Promise<Listing> => {
  const tools = JSON.stringify(Array.from({ length: toolCount }, (_, index) => tool(index)))
  const session = await (await memorySubjects[subject]()).open(`{"tools":${tools}}`)
  const times: Array<number> = []
  for (let index = 0; index < warmUp + lists; index++) {
    const start = performance.now()
    const count = await session.list()
    if (index >= warmUp) times.push(performance.now() - start)
    if (count !== toolCount) throw new Error(`${count} tools instead of ${toolCount}`)
  }
  await session.close()
  return { millis: median(times) }
}
