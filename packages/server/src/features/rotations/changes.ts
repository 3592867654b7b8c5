import { change, type Origin } from '../../kernel/changes.ts'
import type { RotationUpdate } from './contract.ts'

export interface RotationFinish {
  origin: Origin
  projectId: string
  id: string
  jwksMaxAge: number
}

export interface RotationStart extends RotationFinish {
  /** Their ids or `publishedKid`s. */
  from: string
  to: string
  tokenLifetime: number
}

export interface RotationAbandonment extends RotationFinish {
  ifMatch?: string
}

export interface RotationPatch extends RotationAbandonment {
  patch: RotationUpdate
}

export const rotationChanges = {
  startRotation: change<RotationStart>('rotation.start'),
  updateRotation: change<RotationPatch>('rotation.update'),
  /** Sets the `expireTime` of the old key. */
  finishRotation: change<RotationFinish>('rotation.finish'),
  abandonRotation: change<RotationAbandonment>('rotation.abandon'),
}
