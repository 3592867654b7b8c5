/** The actions on a key that open a dialog. */
export const keyActions = ['rename', 'expire', 'activate', 'deactivate', 'delete'] as const
export type KeyAction = (typeof keyActions)[number]
