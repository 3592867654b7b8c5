import { feature } from '../../kernel/feature.ts'

export const keys = feature({ name: 'keys' })
