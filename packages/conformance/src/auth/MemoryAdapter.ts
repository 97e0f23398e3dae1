/**
 * What `oidc-provider` keeps, for one server: its own store is shared by all of a process.
 */

interface Payload {
  readonly grantId?: string
  readonly userCode?: string
  readonly uid?: string
  consumed?: number
}

/** Makes adapters, one for each kind of thing, that keep what they are given until the server is gone. */
export const make = () => {
  const kinds = new Map<string, Map<string, Payload>>()

  return (kind: string) => {
    const entries = kinds.get(kind) ?? new Map<string, Payload>()
    kinds.set(kind, entries)
    const findBy = async (name: "userCode" | "uid", value: string): Promise<Payload | undefined> =>
      [...entries.values()].find((payload) => payload[name] === value)

    return {
      find: async (id: string): Promise<Payload | undefined> => entries.get(id),
      findByUserCode: (userCode: string) => findBy("userCode", userCode),
      findByUid: (uid: string) => findBy("uid", uid),
      upsert: async (id: string, payload: Payload): Promise<void> => {
        entries.set(id, payload)
      },
      consume: async (id: string): Promise<void> => {
        const payload = entries.get(id)
        if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000)
      },
      destroy: async (id: string): Promise<void> => {
        entries.delete(id)
      },
      revokeByGrantId: async (grantId: string): Promise<void> => {
        for (const [id, payload] of entries) if (payload.grantId === grantId) entries.delete(id)
      }
    }
  }
}
