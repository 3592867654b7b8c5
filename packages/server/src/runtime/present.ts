/** The members of an object that are not undefined. */
export function present<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  const kept: Partial<Members> = {}
  for (const name in members) {
    if (members[name] !== undefined) kept[name] = members[name]
  }
  return kept as ReturnType<typeof present<Members>>
}
