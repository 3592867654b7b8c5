/** One value for each owner, made when it is first used. */
export function oneFor<Owner extends object, Value>(
  create: (owner: Owner) => Value,
): (owner: Owner) => Value {
  const made = new WeakMap<Owner, Value>()
  return (owner) => {
    const known = made.get(owner)
    if (known !== undefined) return known
    const value = create(owner)
    made.set(owner, value)
    return value
  }
}
