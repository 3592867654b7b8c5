/** The actions on a key that open a dialog. */
export const keyActions = [
  'replace',
  'rename',
  'expire',
  'activate',
  'deactivate',
  'delete',
] as const
export type KeyAction = (typeof keyActions)[number]
