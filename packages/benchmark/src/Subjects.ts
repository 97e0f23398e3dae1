/** The subjects by name. Each is loaded only where it is measured. */
import type { BigSubject, MemorySubject, Subject } from "./Subject.ts"

export const subjects = {
  floor: async () => (await import("./subjects/Floor.ts")).undici,
  "floor over fetch": async () => (await import("./subjects/Floor.ts")).overFetch,
  official: async () => (await import("./subjects/Official.ts")).official,
  "effect/ai": async () => (await import("./subjects/EffectAi.ts")).effectAi,
  ours: async () => (await import("./subjects/Ours.ts")).ours,
  "ours over fetch": async () => (await import("./subjects/Ours.ts")).overFetch
} satisfies Record<string, () => Promise<Subject>>

export type SubjectName = keyof typeof subjects

export const memorySubjects = {
  floor: async () => (await import("./subjects/Floor.ts")).memory,
  official: async () => (await import("./subjects/Official.ts")).memory,
  ours: async () => (await import("./subjects/Ours.ts")).memory
} satisfies Record<string, () => Promise<MemorySubject>>

export type MemorySubjectName = keyof typeof memorySubjects

export const bigSubjects = {
  floor: async () => (await import("./subjects/Floor.ts")).big,
  ours: async () => (await import("./subjects/Ours.ts")).big
} satisfies Record<string, () => Promise<BigSubject>>

export type BigSubjectName = keyof typeof bigSubjects
