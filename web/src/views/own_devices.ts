/** The names of one's own devices as they turn up in a task, each asked for once. */

import type { Api } from "../sync/api";

export class DeviceNames {
  readonly known = new Map<string, string>();

  /** Whether there are new names now. */
  async learn(api: Api, me: string, states: Map<number, unknown>): Promise<boolean> {
    const own = [...states.values()].map((state) => (state as { user?: { id?: unknown; device?: unknown } } | null)?.user);
    const devices = own.filter((user) => user?.id === me).map((user) => user?.device);
    const isNew = (device: unknown): device is string => typeof device === "string" && !this.known.has(device);
    const found = devices.filter(isNew);
    for (const device of found) this.known.set(device, "");
    if (found.length) for (const [device, name] of await api.deviceNames().catch(() => [])) this.known.set(device, name);
    return found.length > 0;
  }
}
