/** A longer header selects the default type: real clients send a few hundred characters. */
const maxLength = 500

/**
 * Whether the `Accept` header (RFC 9110 section 12.5.1) names the media type and gives it more
 * weight than the default type. Wildcards select the default type.
 */
export function prefers(accept: string | undefined, type: string, defaultType: string): boolean {
  if (accept === undefined || accept.length > maxLength) return false
  if (!accept.toLowerCase().includes(type)) return false
  return quality(accept, type) > quality(accept, defaultType)
}

/** The weight of the named type, from 0 to 1; 0 if the header does not name it. */
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
