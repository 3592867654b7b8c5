/**
 * Whether the `Accept` header (RFC 9110 section 12.5.1) asks for the media type by its name, and
 * more than for the `usual` one. Wildcards ask for nothing in particular: they get the usual one.
 */
export function prefers(accept: string | undefined, type: string, usual: string): boolean {
  if (accept === undefined || !accept.toLowerCase().includes(type)) return false
  return quality(accept, type) > quality(accept, usual)
}

/** The weight given to the type by name, from 0 to 1; 0 where it is not named. */
function quality(accept: string, type: string): number {
  const weights = accept.split(',').map((range) => {
    const [name, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    if (name !== type) return 0
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    if (weight === undefined) return 1
    return /^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight.slice(2)) : 0
  })
  return Math.max(0, ...weights)
}
