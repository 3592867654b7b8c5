/** Roles from weak to strong; each includes the permissions of the previous ones. */
export const rankedRoles = ['reader', 'registrar', 'writer', 'admin'] as const
export type RankedRole = (typeof rankedRoles)[number]

/** All roles. An auditor reads everything of all projects, and changes nothing. */
export const roles = [...rankedRoles, 'auditor'] as const
export type Role = (typeof roles)[number]

/** The roles of a key in its project, as `KeyRole` describes. */
export const keyRoles = ['spreading', 'current', 'previous', 'off', 'expired'] as const
