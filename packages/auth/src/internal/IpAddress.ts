/**
 * What an IP address is for: the public internet, this machine, or something that only answers inside a network.
 */

export type Reach = "public" | "loopback" | "private"

const parseV4 = (text: string): ReadonlyArray<number> | undefined => {
  const parts = text.split(".")
  if (parts.length !== 4) return undefined
  const bytes = parts.map((part) => /^\d{1,3}$/.test(part) ? Number(part) : NaN)
  return bytes.every((byte) => byte <= 255) ? bytes : undefined
}

const parseV6 = (text: string): ReadonlyArray<number> | undefined => {
  const address = text.replace(/%.*$/, "")
  if (!address.includes(":")) return undefined
  const last = address.slice(address.lastIndexOf(":") + 1)
  let hex = address
  if (last.includes(".")) {
    const tail = parseV4(last)
    if (tail === undefined) return undefined
    const [a = 0, b = 0, c = 0, d = 0] = tail
    hex = `${address.slice(0, -last.length)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  }
  const halves = hex.split("::")
  if (halves.length > 2) return undefined
  const groupsOf = (half: string | undefined) => half === undefined || half === "" ? [] : half.split(":")
  const head = groupsOf(halves[0])
  const tail = groupsOf(halves[1])
  const missing = 8 - head.length - tail.length
  if (halves.length === 2 ? missing < 0 : missing !== 0) return undefined
  const groups = [...head, ...Array.from({ length: missing }, () => "0"), ...tail]
  return groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))
    ? groups.map((group) => parseInt(group, 16))
    : undefined
}

// IANA IPv4 Special-Purpose Address Registry (RFC 6890), and multicast: nothing there is on the public internet.
const specialV4: ReadonlyArray<readonly [prefix: ReadonlyArray<number>, bits: number]> = [
  [[0], 8],
  [[10], 8],
  [[100, 64], 10],
  [[169, 254], 16],
  [[172, 16], 12],
  [[192, 0, 0], 24],
  [[192, 0, 2], 24],
  [[192, 168], 16],
  [[198, 18], 15],
  [[198, 51, 100], 24],
  [[203, 0, 113], 24],
  [[224], 4],
  [[240], 4]
]

const numberOf = (bytes: ReadonlyArray<number>): number =>
  ((bytes[0] ?? 0) * 0x1000000) + ((bytes[1] ?? 0) * 0x10000) + ((bytes[2] ?? 0) * 0x100) + (bytes[3] ?? 0)

const reachV4 = (bytes: ReadonlyArray<number>): Reach => {
  if (bytes[0] === 127) return "loopback"
  const address = numberOf(bytes)
  const isSpecial = specialV4.some(([prefix, bits]) => {
    const size = 2 ** (32 - bits)
    return Math.floor(address / size) === Math.floor(numberOf(prefix) / size)
  })
  return isSpecial ? "private" : "public"
}

const reachV6 = (groups: ReadonlyArray<number>): Reach => {
  const [first = 0, second = 0] = groups
  const embedded = (at: number): Reach =>
    reachV4([
      (groups[at] ?? 0) >> 8,
      (groups[at] ?? 0) & 255,
      (groups[at + 1] ?? 0) >> 8,
      (groups[at + 1] ?? 0) & 255
    ])
  const leadingZeros = groups.findIndex((group) => group !== 0)
  if (leadingZeros === -1) return "private"
  if (leadingZeros === 7 && groups[7] === 1) return "loopback"
  // An IPv4 address in another spelling: mapped and compatible (RFC 4291), NAT64 (RFC 6052), 6to4 (RFC 3056).
  if (leadingZeros === 5 && groups[5] === 0xffff) return embedded(6)
  if (leadingZeros >= 6) return embedded(6)
  if (first === 0x64 && second === 0xff9b) {
    return groups.slice(2, 6).every((group) => group === 0)
      ? embedded(6)
      : "private"
  }
  if (first === 0x2002) return embedded(1)
  // What else is on the public internet lies in 2000::/3, without documentation (RFC 3849, RFC 9637) and Teredo.
  if (first >> 13 !== 1) return "private"
  const isReserved = (first === 0x2001 && (second === 0xdb8 || second < 0x200)) || (first & 0xfff0) === 0x3ff0
  return isReserved ? "private" : "public"
}

/** The reach of an IP address in its usual spelling, `undefined` for what is none. */
export const reach = (text: string): Reach | undefined => {
  const v4 = parseV4(text)
  if (v4 !== undefined) return reachV4(v4)
  const v6 = parseV6(text)
  return v6 === undefined ? undefined : reachV6(v6)
}

// Names that clouds answer with the credentials of the machine.
const metadataNames: ReadonlySet<string> = new Set(["metadata", "metadata.google.internal", "instance-data"])

/** The reach of the host of a parsed URL. A parser has brought every spelling of an IPv4 address into one form. */
export const reachOfHost = (hostname: string): Reach | undefined => {
  const name = hostname.toLowerCase().replace(/^\[|\]$/g, "").replace(/\.+$/, "")
  if (name === "localhost" || name.endsWith(".localhost")) return "loopback"
  return metadataNames.has(name) ? "private" : reach(name)
}
