/**
 * Division of the decimal numbers that JSON writes, exact where the division of doubles is not: 19.99 is a multiple of
 * 0.01.
 */

// The shortest decimal that stands for a double, as digits and a power of ten.
const decimal = (value: number): readonly [digits: bigint, exponent: number] => {
  const [mantissa = "0", exponent = "0"] = String(value).split("e")
  const [whole = "0", fraction = ""] = mantissa.split(".")
  return [BigInt(whole + fraction), Number(exponent) - fraction.length]
}

export const isMultipleOf = (value: number, divisor: number): boolean => {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0
  const [digits, exponent] = decimal(value)
  const [divisorDigits, divisorExponent] = decimal(divisor)
  const least = Math.min(exponent, divisorExponent)
  const scaled = (number: bigint, power: number) => number * 10n ** BigInt(power - least)
  return scaled(digits, exponent) % scaled(divisorDigits, divisorExponent) === 0n
}
