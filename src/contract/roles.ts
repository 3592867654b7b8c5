/** Roles from weak to strong; each includes the permissions of the previous ones. */
export const roles = ['reader', 'registrar', 'writer', 'admin'] as const
export type Role = (typeof roles)[number]

/** What a key is to its project, as `KeyRole` describes. */
export const keyRoles = ['spreading', 'current', 'previous', 'off', 'expired'] as const
