/** Roles from weak to strong; each may do all that the ones before it may. */
export const roles = ['reader', 'writer', 'admin'] as const
export type Role = (typeof roles)[number]
