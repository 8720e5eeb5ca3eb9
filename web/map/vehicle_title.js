/** Returns the name of a vehicle for the list and its card. @param {{id: string, record: any}} vehicle */
export const vehicleTitle = ({ id, record }) => `Vehicle ${record.vehicle?.label || record.vehicle?.id || id}`;
